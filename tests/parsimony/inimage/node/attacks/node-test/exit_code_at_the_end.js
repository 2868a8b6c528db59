// level 1, without effect
process.on('exit', () => { process.exitCode = 0 })
