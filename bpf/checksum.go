//go:build 386 || amd64 || arm64

package bpf

import "hash/crc32"

// Checksum tells builds of the objects apart.
func Checksum() uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(_CoreBytes, table), table, _PlainBytes)
}
