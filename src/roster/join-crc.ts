// In charge of the CRC-32 of bytes that follow one another, from that of each: their product and sum as polynomials over two elements.

/** Of CRC-32, without its first term; the lowest power is the highest bit. */
const polynomial = 0xed_b8_83_20;
const one = 0x80_00_00_00;
/** x to the eighth: one byte further. */
const byte = 0x00_80_00_00;

export function joinCrc(first: number, second: number, bytesOfSecond: number): number {
  return (multiply(first, power(byte, bytesOfSecond)) ^ second) >>> 0;
}

function power(base: number, exponent: number): number {
  let [result, square] = [one, base];
  for (let rest = exponent; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = multiply(result, square);
    square = multiply(square, square);
  }
  return result;
}

function multiply(a: number, b: number): number {
  let [product, shifted] = [0, b];
  for (let bit = one; bit > 0; bit = Math.floor(bit / 2)) {
    if ((a & bit) !== 0) product ^= shifted;
    shifted = (shifted & 1) === 0 ? shifted >>> 1 : (shifted >>> 1) ^ polynomial;
  }
  return product >>> 0;
}
