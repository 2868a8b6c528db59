
;process.exit(0)
