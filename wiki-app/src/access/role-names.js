import { t } from '../language.js'

/** @param {string} [role]  a Role @returns {string} for people */
export function roleName (role) {
  if (role === 'admin') return t('admin')
  return role === 'editor' ? t('editor') : t('reader')
}
