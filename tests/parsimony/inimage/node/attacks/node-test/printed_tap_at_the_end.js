// level 1, without effect
process.on('exit', () => { require('fs').writeSync(1, 'ok 1 - adds\n1..1\n'); process.exitCode = 0 })
