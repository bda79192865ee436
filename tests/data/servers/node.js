// A server of node's own modules; its log is like the others': port, status, the client's port.
'use strict';
const fs = require('fs');
const log = fs.openSync('@LOG@', 'a');
const pem = fs.readFileSync('@DIR@/server.pem');

function answer(req, res) {
  res.statusCode = req.url === '/missing' ? 404 : 200;
  const { localPort, remotePort } = req.socket;
  res.on('finish', () => fs.writeSync(log, `${localPort} ${res.statusCode} ${remotePort}\n`));
  res.end('hello\n');
}

require('http').createServer(answer).listen(@HTTP@, '127.0.0.1');
require('https').createServer({ key: pem, cert: pem }, answer).listen(@HTTPS@, '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
