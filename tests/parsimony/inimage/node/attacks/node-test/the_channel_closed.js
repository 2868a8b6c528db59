// level 3, without effect
const fs = require('fs')
for (const fd of fs.readdirSync('/proc/self/fd')) {
  try {
    if (fs.readlinkSync('/proc/self/fd/' + fd).startsWith('socket:')) fs.closeSync(Number(fd))
  } catch {}
}
