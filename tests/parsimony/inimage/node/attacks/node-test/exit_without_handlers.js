// level 1, found
process.reallyExit(0)
