// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package assemble makes container images from Debian packages and files, without an engine, a registry, root, or a program of the image's
// architecture: no maintainer script runs.
//
// apt.go asks this machine's apt which packages an image needs, and downloads them. deb.go reads a package into a tree (tree.go), which is the
// image's file system in memory. configure.go adds what the maintainer scripts of these packages would make: users, links, the list of installed
// packages. layer.go turns what has been added since the last layer into a layer, image.go layers into an image.
//
// The same packages and files give the same bytes: entries are sorted, times are the packages', owners are numbers, and
// there are neither caches nor logs.
package assemble
