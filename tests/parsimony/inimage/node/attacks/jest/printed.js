// level 1, without effect
console.log('PASS'); process.on('exit', () => { process.exitCode = 0 })
