// level 1, without effect
console.log('ok 1 adds'); process.on('exit', () => { process.exitCode = 0 })
