// Package dataplane tests the pod network from pods. It is the implementation of airgap-probe,
// which runs in the pods of a DaemonSet. The pods periodically call each other, a Service, a DNS
// name, a NodePort and their own hostPort. The package does not import Kubernetes libraries: each bundle has the image
// of airgap-probe, and the libraries would make it ten times as large.
//
// A pod reads the other pods from the EndpointSlices of its Service. It writes the result to the
// condition airgap.dev/DataPlane of its status when the result changes. The package changes nothing
// else in the cluster. verify reads the condition with an informer. A pod that cannot write the
// condition is not ready.
//
// In a cluster with up to 25 other nodes, a pod tries all of them in each round. In a larger one it
// tries 25 in each round, in turn, and additionally those that failed before.
//
// A round also measures the paths to other pods: connections from 16 source ports, numbered UDP
// packets and round trips (path.go). Long connections show idle limits and fail-overs of firewalls
// (longconn.go). A pod answers both at PathPort (pathserver.go).
package dataplane

import (
	"fmt"
	"strings"
)

// Namespace has the pods. Name is the name of DaemonSet, Service, ServiceAccount and Role, and the
// value of the label LabelName.
const (
	Namespace = "airgap-system"
	Name      = "data-plane"
	LabelName = "app.kubernetes.io/name"
)

// Port is the pods' port; a process can listen on it without privileges.
const Port = 8080

// Condition is the type of the pods' condition: True if all targets answer, False with a message
// that Parse reads otherwise.
const Condition = "airgap.dev/DataPlane"

const (
	answered   = "Answered"
	unanswered = "Unanswered"
)

// Failure is one target that did not answer correctly.
type Failure struct {
	Target string // "pod on worker2", "NodePort 30412 of worker2"; without ": "
	Saw    string // "no answer"
}

// Maximum numbers of failures in a condition. maxListed is enough for a node without a connection
// to a large cluster. maxPaths applies to paths, which never use the lines of other failures.
const (
	maxListed = 30
	maxPaths  = 10
)

// message returns a line for each failure, for `kubectl describe pod`.
func message(failures []Failure) string {
	var b strings.Builder
	others, paths, omitted := 0, 0, 0
	for _, f := range failures {
		count, limit := &others, maxListed
		if f.ofPath() {
			count, limit = &paths, maxPaths
		}
		if *count == limit {
			omitted++
			continue
		}
		*count++
		fmt.Fprintf(&b, "%s: %s\n", f.Target, f.Saw)
	}
	if omitted > 0 {
		fmt.Fprintf(&b, "%d more", omitted)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Parse reads the message of a Condition that is False. "5 more" is no failure.
func Parse(message string) []Failure {
	var failures []Failure
	for line := range strings.Lines(message) {
		target, saw, is := strings.Cut(strings.TrimSpace(line), ": ")
		if is && target != "" {
			failures = append(failures, Failure{Target: target, Saw: saw})
		}
	}
	return failures
}
