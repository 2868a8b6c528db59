// level 1, without effect
console.log('TAP version 13\nok 1 - adds\nok 2 - keeps\n1..2\n# pass 2\n# fail 0')
