// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package uplink

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Numbers and lengths of linux/ethtool.h. All of these commands only read, and need no capability.
const (
	getStrings  = 0x1b
	getHash     = 0x29
	getCount    = 0x37
	getFeatures = 0x3a
	getChannels = 0x3c

	featureNames = 4
	nameLength   = 32

	udp4, udp6   = 0x02, 0x06
	hashAddress  = 1<<4 | 1<<5
	hashPorts    = 1<<6 | 1<<7
	hashLength   = 192
	channelWords = 9
)

// ethtool sends commands about one device.
type ethtool struct {
	socket int
	device string
}

// askDriver adds what the driver of the device says.
func (f *Facts) askDriver() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening a socket for %s: %w", f.Device, err)
	}
	defer unix.Close(socket)
	tool := ethtool{socket, f.Device}
	f.MostQueues, f.UDP4, f.UDP6 = tool.mostQueues(), tool.hash(udp4), tool.hash(udp6)
	features, err := tool.features()
	if err != nil {
		return err
	}
	for _, name := range []string{GRO, TunnelSegmentation} {
		if feature, found := features[name]; found {
			f.Features[name] = feature
		}
	}
	return nil
}

// do sends a command: the buffer begins with its number, and gets the answer.
func (e ethtool) do(command uint32, buffer []byte) error {
	binary.NativeEndian.PutUint32(buffer, command)
	var request struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}
	copy(request.name[:unix.IFNAMSIZ-1], e.device)
	request.data = unsafe.Pointer(&buffer[0])
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(e.socket), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return errno
	}
	return nil
}

// hash returns the fields that choose the receive queue of a kind of packets; empty if the driver does not say.
func (e ethtool) hash(kind uint32) Hash {
	answer := make([]byte, hashLength)
	binary.NativeEndian.PutUint32(answer[4:], kind)
	if e.do(getHash, answer) != nil {
		return ""
	}
	switch fields := binary.NativeEndian.Uint64(answer[8:]); {
	case fields&hashPorts == hashPorts:
		return Ports
	case fields&hashAddress != 0:
		return Addresses
	default:
		return ""
	}
}

// mostQueues returns how many receive queues the device can have; 0 if the driver does not say.
func (e ethtool) mostQueues() int {
	answer := make([]byte, 4*channelWords)
	if e.do(getChannels, answer) != nil {
		return 0
	}
	// Receive queues of their own, and those that share an interrupt with a sending one.
	return int(binary.NativeEndian.Uint32(answer[4:]) + binary.NativeEndian.Uint32(answer[16:]))
}

// features returns the offloads of the device by name.
func (e ethtool) features() (map[string]Feature, error) {
	count := make([]byte, 20) // command, reserved, a mask of 64 bits, the answer
	binary.NativeEndian.PutUint64(count[8:], 1<<featureNames)
	if err := e.do(getCount, count); err != nil {
		return nil, fmt.Errorf("counting the offloads of %s: %w", e.device, err)
	}
	n := int(binary.NativeEndian.Uint32(count[16:]))
	names := make([]byte, 12+n*nameLength)
	binary.NativeEndian.PutUint32(names[4:], featureNames)
	binary.NativeEndian.PutUint32(names[8:], uint32(n))
	if err := e.do(getStrings, names); err != nil {
		return nil, fmt.Errorf("reading the names of offloads of %s: %w", e.device, err)
	}
	// Blocks of 32 offloads, each with four words: available, requested, active, never changed.
	blocks := (n + 31) / 32
	bits := make([]byte, 8+16*blocks)
	binary.NativeEndian.PutUint32(bits[4:], uint32(blocks))
	if err := e.do(getFeatures, bits); err != nil {
		return nil, fmt.Errorf("reading the offloads of %s: %w", e.device, err)
	}
	features := map[string]Feature{}
	for i := range n {
		block, bit := bits[8+16*(i/32):], uint32(1)<<(i%32)
		set := func(word int) bool { return binary.NativeEndian.Uint32(block[4*word:])&bit != 0 }
		features[unix.ByteSliceToString(names[12+i*nameLength:][:nameLength])] = Feature{On: set(2), Changeable: set(0) && !set(3)}
	}
	return features, nil
}
