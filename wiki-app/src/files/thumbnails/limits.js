/** Width and height of a thumbnail, pixels: lists show three pixels for one of CSS at most. */
export const BOX = 384

/** Of the program that makes one; 0: it is made. */
export const EXIT = { refused: 3, noDecoder: 5 }
