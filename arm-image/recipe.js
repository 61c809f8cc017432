/** The image's recipe: parameters, boards and packages. The steps are in src/, the installed files in overlays/. */

/**
 * The parameters; each is set by an environment variable of the same name.
 * @type {Record<string, {default: string, allowed: RegExp, says: string}>}
 */
export const PARAMETERS = {
  BOARD: {
    default: 'lamobo-r1',
    allowed: /^(lamobo-r1|bananapi|bpi-m2-ultra|qemu-virt)$/,
    says: 'lamobo-r1 (Banana Pi R1), bananapi, bpi-m2-ultra or qemu-virt'
  },
  SUITE: { default: 'trixie', allowed: /^[a-z]+$/, says: 'the name of a Debian release with nodejs 20.19 or newer' },
  MIRROR: {
    default: 'http://deb.debian.org/debian',
    allowed: /^https?:\/\/[^\s'"]+$/,
    says: 'the http(s) address of a Debian mirror'
  },
  // Not every mirror of a release has all its security updates for this architecture; `apt upgrade` gets them later.
  SECURITY_MIRROR: {
    default: 'none',
    allowed: /^(none|https?:\/\/[^\s'"]+)$/,
    says: 'the http(s) address of a mirror of Debian\'s security updates, or none'
  },
  BOARD_HOSTNAME: {
    default: 'stevec',
    allowed: /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/,
    says: 'one label of a host name: a-z, 0-9 and hyphens'
  },
  // QEMU requires a power of two for an SD card's size; the first boot grows the filesystem to the real card's size.
  IMAGE_SIZE: { default: '1G', allowed: /^(1|2|4|8|16|32)G$/, says: '1G, 2G, 4G, 8G, 16G or 32G' },
  SSH_KEY: { default: 'none', allowed: /^[^\0\n]+$/, says: 'a file of public keys that may log in as root, or none' },
  MONGODB_URI: {
    default: 'mongodb://10.0.2.2:27027/stevec?directConnection=true',
    allowed: /^mongodb(\+srv)?:\/\/[^\s"'\\]+$/,
    says: 'mongodb://[user:password@]host[:port][,…]/database[?options]'
  }
}

/**
 * All boards share one root filesystem; only the boot loader differs. The first stage finds it at 8 KiB on the card.
 * https://linux-sunxi.org/Bootable_SD_card
 * @type {Record<string, {name: string, uBoot: string | null, deviceTree: string | null}>}
 */
export const BOARDS = {
  'lamobo-r1': { name: 'Banana Pi R1 (Lamobo R1)', uBoot: 'Lamobo_R1', deviceTree: 'sun7i-a20-lamobo-r1.dtb' },
  bananapi: { name: 'Banana Pi M1', uBoot: 'Bananapi', deviceTree: 'sun7i-a20-bananapi.dtb' },
  'bpi-m2-ultra': {
    name: 'Banana Pi M2 Ultra',
    uBoot: 'Bananapi_M2_Ultra',
    deviceTree: 'sun8i-r40-bananapi-m2-ultra.dtb'
  },
  'qemu-virt': { name: 'QEMU, machine virt', uBoot: null, deviceTree: null }
}

/** Packages requested from Debian; packages.lock.json lists their dependencies and all versions. */
export const PACKAGES = [
  'systemd-sysv', 'udev', 'kmod', 'systemd-timesyncd', 'systemd-resolved', 'iproute2', 'netbase', 'ca-certificates',
  'linux-image-armmp', 'initramfs-tools', 'zstd', 'u-boot-menu', 'u-boot-sunxi', 'fdisk', 'e2fsprogs',
  'openssh-server', 'logrotate', 'nginx', 'nodejs'
]

/** Not unpacked, to keep the card small; the board needs no manuals. */
export const EXCLUDED_PATHS = [
  '/usr/share/doc/*', '/usr/share/man/*', '/usr/share/info/*', '/usr/share/locale/*', '/usr/share/lintian/*',
  '/usr/lib/u-boot/*'
]

/** Exceptions from the excluded paths: copyright files must stay, boot loaders are needed. */
export const INCLUDED_PATHS = [
  '/usr/share/doc/*/copyright',
  ...Object.values(BOARDS).flatMap(({ uBoot }) => uBoot === null ? [] : [`/usr/lib/u-boot/${uBoot}/*`])
]
