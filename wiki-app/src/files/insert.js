import mongoose from 'mongoose'
import { inTransaction } from '../database/transaction.js'

/** @import {ClientSession} from 'mongoose' */
/** @import {FileModels, StoredFile} from './model.js' */

const { mongo } = mongoose
const DUPLICATE_KEY = 11_000

/**
 * The private space that a store is for. `admit` rejects while the space takes no files, and makes the transaction
 * begin again when the space goes at the same time.
 * @typedef {{space: string, admit: (session: ClientSession) => Promise<void>}} Within
 */

/**
 * @param {Pick<FileModels, 'Files'>} models @param {Within} [within]
 * @returns {(file: StoredFile) => Promise<boolean>} false: the same content is there already
 */
export const createInsert = ({ Files }, within) => within === undefined
  ? async (file) => {
    try {
      await Files.insertMany([file], { lean: true })
      return true
    } catch (error) {
      if (isDuplicate(error)) return false
      throw error
    }
  }
  : (file) => inTransaction(Files.db, async (session) => {
      await within.admit(session)
      const { space, filename } = file
      if (await Files.findOne({ space, filename }, { _id: 1 }, { session }).lean().exec() !== null) return false
      await Files.insertMany([file], { lean: true, session })
      return true
    })

/** @param {unknown} error  of a bulk write, too */
const isDuplicate = (error) => error instanceof mongo.MongoServerError && error.code === DUPLICATE_KEY
