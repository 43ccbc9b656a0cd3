// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/antrea-oncache/antrea/build/images/assemble"
)

// address is the project's.
const address = "https://github.com/antrea-oncache/antrea"

// labels are the image's annotations of the OCI image specification. Our own images say where their source is and under which terms. The Dockerfiles
// set the same.
func (b *builder) labels(name string, d definition) map[string]string {
	labels := map[string]string{"title": name, "version": b.version}
	if d.ours {
		labels["source"], labels["documentation"] = address, address+"/tree/main/docs"
		labels["licenses"] = "Apache-2.0 AND (BSD-2-Clause OR GPL-2.0-only)"
		if b.revision != "" {
			labels["revision"] = b.revision
		}
	}
	full := map[string]string{}
	for key, value := range labels {
		full["org.opencontainers.image."+key] = value
	}
	return full
}

// addLicences adds the licences of the project, and of the modules that are linked into its programs (make image-programs writes them). Debian's
// packages have theirs in /usr/share/doc.
func (b *builder) addLicences(tree *assemble.Tree) error {
	for _, file := range []string{
		filepath.Join(b.folder, "../../LICENSE"), filepath.Join(b.folder, "../../bpf/oncache/LICENSE.BSD-2-Clause"), filepath.Join(b.programs, "THIRD-PARTY-LICENSES"),
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("an image must have its licences (make image-programs): %w", err)
		}
		tree.WriteFile("usr/share/doc/antrea-oncache/"+filepath.Base(file), text, 0o644, b.created)
	}
	return nil
}
