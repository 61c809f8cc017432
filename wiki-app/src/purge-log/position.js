import mongoose from 'mongoose'

/** @import {Timestamp} from 'mongodb' */

const { Timestamp: TimestampOfDriver } = mongoose.mongo
const HEXADECIMAL = 16
const DIGITS = 16

/**
 * Positions are times of the database's log of operations: 16 hexadecimal digits, in the order of the commits, the same
 * in all processes. https://www.mongodb.com/docs/manual/reference/bson-types/#timestamps
 * @param {Pick<Timestamp, 'toUnsigned'>} time
 */
export const positionOf = (time) => time.toUnsigned().toString(HEXADECIMAL).padStart(DIGITS, '0')

/** @param {string} position @returns {Timestamp} */
export const timestampOf = (position) => TimestampOfDriver.fromString(position, HEXADECIMAL)
