// Package wire holds the protobuf messages of the tree protocol, generated
// from wire.proto, which is the contract for other implementations.
//
// Nothing here bounds or checks anything: package live does, before and after
// a frame is unmarshalled.
package wire

//go:generate protoc --go_out=. --go_opt=paths=source_relative wire.proto
