// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/agent/leftover"
)

// Names that the script install_cni uses; see there.
const (
	confFile     = "10-antrea.conflist"
	pluginAntrea = "antrea"
	// recordDirectory is in the directory of plugins. For each shared plugin it has NAME.sha256, the digests of what
	// was installed, and NAME, the former file, if there was one.
	recordDirectory = ".antrea"
	sumSuffix       = ".sha256"
	// temporaryFiles are left by a script that was killed.
	temporaryFiles = "*.antrea-new.*"
)

// cni finds the CNI configuration and the plugins. The configuration comes first: without it the container runtime starts no Pods.
func (o *Options) cni(context.Context) ([]leftover.Item, error) {
	bin := o.path(o.CNIBinDir)
	record := filepath.Join(bin, recordDirectory)
	found := existing("CNI configuration", filepath.Join(o.path(confDirectory), confFile))
	found = append(found, existing("CNI plugin", filepath.Join(bin, pluginAntrea))...)
	sums, err := filepath.Glob(filepath.Join(record, "*"+sumSuffix))
	if err != nil {
		return nil, err
	}
	for _, sum := range sums {
		item, err := plugin(bin, strings.TrimSuffix(filepath.Base(sum), sumSuffix), sum)
		if err != nil {
			return nil, err
		}
		found = append(found, item...)
	}
	for _, dir := range []string{o.path(confDirectory), bin} {
		files, err := filepath.Glob(filepath.Join(dir, temporaryFiles))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			found = append(found, existing("temporary file", file)...)
		}
	}
	return append(found, existing("record of CNI plugins", record)...), nil
}

// plugin is a plugin that others may also use. If ours was replaced since, it stays.
func plugin(bin, name, sumFile string) ([]leftover.Item, error) {
	file, former := filepath.Join(bin, name), filepath.Join(filepath.Dir(sumFile), name)
	ours, err := os.ReadFile(sumFile)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(content); !slices.Contains(strings.Fields(string(ours)), hex.EncodeToString(sum[:])) {
		return nil, nil
	}
	if _, err := os.Stat(former); err == nil {
		return []leftover.Item{{
			Name:   fmt.Sprintf("CNI plugin %s; the one that was there before is back", file),
			Remove: func() error { return os.Rename(former, file) },
		}}, nil
	}
	return existing("CNI plugin", file), nil
}

// existing is a file or directory, if it exists.
func existing(kind, path string) []leftover.Item {
	if _, err := os.Lstat(path); err != nil {
		return nil
	}
	return []leftover.Item{{Name: kind + " " + path, Remove: func() error { return os.RemoveAll(path) }}}
}
