// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/antrea-oncache/antrea/test/tools/afpacket"
)

// WriteCaptures writes the frames of an observation into dir, one file for each point: prefix, point and ".pcap".
func (o *Observation) WriteCaptures(dir, prefix string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	names := [Points]string{"sender", "sending-tunnel", "wire", "receiving-tunnel", "receiver"}
	var errs []error
	for point, frames := range o {
		if len(frames) > 0 {
			errs = append(errs, writeCapture(filepath.Join(dir, fmt.Sprintf("%s-%s.pcap", prefix, names[point])), frames))
		}
	}
	return errors.Join(errs...)
}

func writeCapture(path string, frames []afpacket.Frame) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := pcapgo.NewWriter(f)
	if err := w.WriteFileHeader(1<<18, layers.LinkTypeEthernet); err != nil {
		return err
	}
	for i, frame := range frames {
		info := gopacket.CaptureInfo{Timestamp: time.Unix(0, int64(i)), CaptureLength: len(frame.Data), Length: len(frame.Data)}
		if err := w.WritePacket(info, frame.Data); err != nil {
			return err
		}
	}
	return nil
}
