// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package kubecluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // for recipe
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/antrea-oncache/antrea/test/env/testbed/cache"
	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

// diskSize is the size of a Node's file system. The file takes only what is used.
const diskSize = "20G"

// DiskOptions say what is on the Nodes' disk.
type DiskOptions struct {
	// Root is the archive of an image that has the Node's file system: an operating system with runc, and containerd and ctr in
	// /usr/local/bin.
	Root string
	// Images are archives of container images, as `docker save` writes them.
	Images   []string
	Progress *progress.Printer
}

// recipe is this file: another way to make a disk makes another disk.
//
//go:embed disk.go
var recipe []byte

// diskEntry is the disks' place in the cache.
const diskEntry = "node-disk"

// MakeDisk returns a file with an ext4 file system that has the root and, unpacked by containerd, the images, so that
// no Node has to unpack them. It is made once for each content of the archives and each version of this file, and
// replaces all others that no cluster uses: it stays until release is called or this process ends.
func MakeDisk(ctx context.Context, o DiskOptions) (disk string, release func(), err error) {
	version, err := digest(recipe, append([]string{o.Root}, o.Images...))
	if err != nil {
		return "", nil, err
	}
	entry, release, err := cache.Use(ctx, diskEntry, version, func(out string) error {
		o.Progress.Printf("disk: making the Nodes' disk with %d images", len(o.Images))
		defer o.Progress.Every(ctx, 10*time.Second, "disk: making the Nodes' disk")()
		root := filepath.Join(out, "root")
		defer os.RemoveAll(root)
		if err := os.Mkdir(root, 0o755); err != nil {
			return err
		}
		if err := unpack(ctx, o.Root, root); err != nil {
			return err
		}
		if err := importImages(ctx, root, o.Images); err != nil {
			return err
		}
		return command(ctx, "mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-E", "lazy_itable_init=1,root_owner=0:0", "-d", root, filepath.Join(out, "disk"), diskSize)
	})
	if err != nil {
		return "", nil, err
	}
	if err := cache.RemoveOthers(diskEntry, version); err != nil {
		release()
		return "", nil, err
	}
	return filepath.Join(entry, "disk"), release, nil
}

// unpack unpacks the layers of an image's archive into a directory.
func unpack(ctx context.Context, archive, root string) error {
	image, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		return fmt.Errorf("reading the image %s: %w", archive, err)
	}
	files := mutate.Extract(image)
	defer files.Close()
	tar := exec.CommandContext(ctx, "tar", "-xp", "-C", root, "--xattrs", "--numeric-owner")
	tar.Stdin = files
	if out, err := tar.CombinedOutput(); err != nil {
		return fmt.Errorf("unpacking %s: %w: %s", archive, err, bytes.TrimSpace(out))
	}
	return nil
}

// importImages lets containerd, run by this host on the disk's directory, unpack the images as it does on a Node.
func importImages(ctx context.Context, root string, images []string) (err error) {
	state, err := os.MkdirTemp("", "containerd-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	socket := filepath.Join(state, "socket")
	config := fmt.Sprintf("version = 3\nroot = %q\nstate = %q\ndisabled_plugins = [\"io.containerd.cri.v1.runtime\", \"io.containerd.cri.v1.images\", \"io.containerd.grpc.v1.cri\"]\n[grpc]\n  address = %q\n",
		filepath.Join(root, "var/lib/containerd"), filepath.Join(state, "state"), socket)
	if err := os.WriteFile(filepath.Join(state, "config.toml"), []byte(config), 0o600); err != nil {
		return err
	}
	bin := filepath.Join(root, "usr/local/bin")
	var log bytes.Buffer
	cmd := exec.Command(filepath.Join(bin, "containerd"), "--config="+filepath.Join(state, "config.toml"))
	cmd.Stdout, cmd.Stderr = &log, &log
	containerd, err := proc.Start(cmd)
	if err != nil {
		return err
	}
	defer func() {
		stopped := containerd.Stop(10 * time.Second)
		if err = errors.Join(err, stopped); err != nil {
			err = fmt.Errorf("%w; containerd says:\n%s", err, log.String())
		}
	}()
	if err := waitForSocket(ctx, socket, containerd.Done()); err != nil {
		return err
	}
	for _, image := range images {
		if err := command(ctx, filepath.Join(bin, "ctr"), "--address="+socket, "--namespace=k8s.io", "images", "import", "--digests=false", image); err != nil {
			return err
		}
	}
	return nil
}

func waitForSocket(ctx context.Context, path string, ended <-chan struct{}) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ended:
			return errors.New("containerd has ended")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func command(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w: %s", name, args, err, bytes.TrimSpace(out))
	}
	return nil
}

// digest is a digest of the recipe and the files' content.
func digest(recipe []byte, files []string) (string, error) {
	all := sha256.New()
	own := sha256.Sum256(recipe)
	all.Write(own[:])
	slices.Sort(files[1:])
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return "", err
		}
		one := sha256.New()
		_, err = io.Copy(one, f)
		f.Close()
		if err != nil {
			return "", err
		}
		all.Write(one.Sum(nil))
	}
	return hex.EncodeToString(all.Sum(nil)[:8]), nil
}
