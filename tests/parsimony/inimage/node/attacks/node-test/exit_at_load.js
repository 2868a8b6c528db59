// level 1, found
process.exit(0)
