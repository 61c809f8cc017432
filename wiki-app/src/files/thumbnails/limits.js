/** Width and height of a thumbnail, pixels: lists show it 128 CSS pixels wide, and phones have three for each. */
export const BOX = 384

/** Of the program that makes one; 0: it is made. */
export const EXIT = { refused: 3, noDecoder: 4 }
