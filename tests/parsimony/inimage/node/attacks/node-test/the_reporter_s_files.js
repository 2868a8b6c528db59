// level 3, found
const path = require('path'), fs = require('fs')
for (const file of process._preload_modules) {
  fs.writeFileSync(path.join(path.dirname(file), 'nodetest.cjs'), 'exports.install = () => {}')
}
