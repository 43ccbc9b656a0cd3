// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gossip describes the key of the agents' gossip: a Secret in the Namespace of antrea-controller, as in Antrea.
package gossip

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Secret and Keys locate the keys: lines of base64.
const (
	Secret = "antrea-memberlist-keys"
	Keys   = "keys"
)

// ErrNoKey means that the Secret has no key.
var ErrNoKey = fmt.Errorf("it has no %s, want lines of base64 of 16, 24 or 32 bytes", Keys)

// Key returns the key that is used: the first line, of 16, 24 or 32 bytes. Errors do not repeat the content.
func Key(data map[string][]byte) ([]byte, error) {
	line, _, _ := strings.Cut(strings.TrimSpace(string(data[Keys])), "\n")
	line = strings.TrimSpace(line)
	if line == "" {
		return nil, ErrNoKey
	}
	key, err := base64.StdEncoding.DecodeString(line)
	if err != nil {
		return nil, errors.New("the first line of " + Keys + " is not base64")
	}
	if n := len(key); n != 16 && n != 24 && n != 32 {
		return nil, fmt.Errorf("the first line of %s is base64 of %d bytes, want 16, 24 or 32", Keys, n)
	}
	return key, nil
}
