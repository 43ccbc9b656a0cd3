// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"io"
	"path/filepath"

	"gopkg.in/natefinch/lumberjack.v2"
	"k8s.io/klog/v2"
)

// DefaultDirectory and FileName are Antrea's.
const (
	DefaultDirectory = "/var/log/antrea/networkpolicy"
	FileName         = "np.log"
)

// Rotation says when the log begins a new file, and which old ones it keeps.
type Rotation struct {
	// MaxSize of a file is in megabytes, MaxAge of an old one in days. 0 old files, or days, are no limit.
	MaxSize, MaxBackups, MaxAge int
	// Compress old files with gzip.
	Compress bool
}

// openFile returns the file, which is created when the first line is written. An old one has its time in its name.
func openFile(directory string, r Rotation) io.WriteCloser {
	return &lumberjack.Logger{
		Filename: filepath.Join(directory, FileName), MaxSize: r.MaxSize, MaxBackups: r.MaxBackups, MaxAge: r.MaxAge, Compress: r.Compress,
	}
}

// output writes lines. The agent's log says once that this fails, and when it works again.
type output struct {
	io.Writer
	// lost is the number of lines since it has failed.
	lost int
}

func (o *output) write(line string) {
	switch _, err := o.Write([]byte(line + "\n")); {
	case err != nil && o.lost == 0:
		o.lost++
		klog.ErrorS(err, "Could not write the audit log of NetworkPolicies; entries are lost until it works again")
	case err != nil:
		o.lost++
	case o.lost > 0:
		klog.InfoS("The audit log of NetworkPolicies can be written again", "lost", o.lost)
		o.lost = 0
	}
}
