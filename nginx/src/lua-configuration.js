import path from 'node:path'

/** The roles' modules with Lua. */
export const LUA_MODULES = ['ndk_http_module', 'ngx_http_lua_module']

/**
 * Returns the configuration of an nginx that runs Lua while it reads it, and then exits: the only Lua that set-up
 * installs is the one in nginx.
 * @param {object} parts
 * @param {string} parts.directory  of this process alone, with a folder `temp`
 * @param {string | null} parts.modulesDirectory  holds ngx_http_lua_module.so
 * @param {string} [parts.path]  Lua's package.path, before its default
 * @param {string} parts.code  it has to end with os.exit
 */
export const luaConfiguration = ({ directory, modulesDirectory, path: packagePath = '', code }) => `
${LUA_MODULES.map((name) => `load_module ${modulesDirectory}/${name}.so;`).join('\n')}
daemon off; master_process off; pid ${path.join(directory, 'nginx.pid')}; error_log stderr; events {}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${path.join(directory, 'temp')};`)
    .join(' ')}
  lua_package_path "${packagePath};;";
  init_by_lua_block {
${code}
  }
}`
