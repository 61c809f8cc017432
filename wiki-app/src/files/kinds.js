import { defineFileModels, defineSpaceFileModels } from './model.js'
import { createStorages } from './storage/storages.js'

/** @import {Connection} from 'mongoose' */
/** @import {FileModels} from './model.js' */
/** @import {CreateS3, PictureSettings, Storages} from './storage/storages.js' */

/** @typedef {{models: FileModels, storages: Storages}} Kind */

/**
 * Public files, and those of private spaces: in the same places, under other names.
 * @param {Connection} connection @param {PictureSettings} settings @param {CreateS3} [createS3]
 * @returns {[open: Kind, apart: Kind]}
 */
export function openKinds (connection, settings, createS3) {
  const [open, apart] = [defineFileModels(connection), defineSpaceFileModels(connection)]
  return [
    { models: open, storages: createStorages(settings, { chunks: open.Chunks, createS3 }) },
    { models: apart, storages: createStorages(settings, { chunks: apart.Chunks, createS3, isApart: true }) }
  ]
}
