// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/redact"
)

// maxPodLog limits what is taken of each container's log, from its end, in lines and bytes.
const (
	maxPodLogLines = 50_000
	maxPodLog      = 16 << 20
)

// podLogs reads the logs of the Pods of a component that does not answer, from the Kubernetes API.
type podLogs struct {
	kubernetes *client
	// component is the value of the Pods' label. An empty node means the Pods of all Nodes.
	component, node string
}

// collect writes an archive with the log of each container, and of its run before, and returns its size.
func (p *podLogs) collect(ctx context.Context, directory, file string, since time.Duration) (size int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, bundleLimit)
	defer cancel()
	query := url.Values{"labelSelector": {"app=antrea,component=" + p.component}}
	if p.node != "" {
		query.Set("fieldSelector", "spec.nodeName="+p.node)
	}
	var pods corev1.PodList
	if err := p.kubernetes.getWith(ctx, "/api/v1/namespaces/"+apis.DefaultNamespace+"/pods", query, &pods); err != nil {
		return 0, fmt.Errorf("listing its Pods: %w", err)
	}
	pods.Items = slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return p.node != "" && pod.Spec.NodeName != p.node })
	if len(pods.Items) == 0 {
		return 0, fmt.Errorf("there is no Pod with the labels app=antrea and component=%s", p.component)
	}
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	files := tar.NewWriter(zipped)
	found := 0
	var errs []error
	for i := range pods.Items {
		for _, log := range logsOf(&pods.Items[i]) {
			text, err := p.read(ctx, &log, since)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", log.name, err))
				continue
			}
			found++
			if err := addFile(files, log.name, text); err != nil {
				return 0, err
			}
		}
	}
	if found == 0 {
		return 0, errors.Join(errs...)
	}
	if err := errors.Join(files.Close(), zipped.Close()); err != nil {
		return 0, err
	}
	err = writeFile(filepath.Join(directory, file), func(w io.Writer) error { _, err := w.Write(archive.Bytes()); return err })
	return int64(archive.Len()), err
}

// podLog is the log of a container.
type podLog struct {
	// name is the name of the file.
	name, pod, container string
	previous             bool
}

// logsOf are the logs that the containers of a Pod have. A container that has not started has none.
func logsOf(pod *corev1.Pod) (logs []podLog) {
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		log := podLog{name: "logs/" + pod.Name + "/" + status.Name, pod: pod.Name, container: status.Name}
		if status.State.Waiting == nil || status.RestartCount > 0 || status.LastTerminationState.Terminated != nil {
			logs = append(logs, log)
		}
		if status.RestartCount > 0 || status.LastTerminationState.Terminated != nil {
			log.name, log.previous = log.name+".previous", true
			logs = append(logs, log)
		}
	}
	return logs
}

func (p *podLogs) read(ctx context.Context, log *podLog, since time.Duration) ([]byte, error) {
	query := url.Values{"container": {log.container}, "tailLines": {strconv.Itoa(maxPodLogLines)}, "timestamps": {"true"}}
	if log.previous {
		query.Set("previous", "true")
	}
	if since > 0 {
		query.Set("sinceSeconds", strconv.Itoa(int(since.Seconds())))
	}
	ctx, cancel := context.WithTimeout(ctx, bundleRequestLimit)
	defer cancel()
	response, err := p.kubernetes.open(ctx, http.MethodGet, "/api/v1/namespaces/"+apis.DefaultNamespace+"/pods/"+log.pod+"/log", query, nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxPodLog))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, serverError(response, text)
	}
	return redact.Text(text), nil
}

func addFile(files *tar.Writer, name string, content []byte) error {
	if err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content)), ModTime: time.Now()}); err != nil {
		return err
	}
	_, err := files.Write(content)
	return err
}
