// Package dataplane tries the pod network from within: it is what the program
// airgap-probe does in the pods of a DaemonSet, which call each other, a Service, a
// name and a NodePort all day. It imports nothing of Kubernetes' libraries: the
// program is an image in every bundle, and with them it would be ten times as big.
//
// What flows in are the pod's own node and the EndpointSlices of its Service,
// which name the other pods. What flows out is a condition in the pod's
// status, airgap.dev/DataPlane, written when something changes; verify reads
// it from its informer. A pod that cannot write it is not ready.
//
// A pod tries every other one up to 25 nodes; beyond that 25 a round, in turn,
// and again those that did not answer before. The package changes nothing but
// its pods' status.
package dataplane

import (
	"fmt"
	"strings"
)

// Where the pods are, and what everything of theirs is called: DaemonSet,
// Service, ServiceAccount, Role, and the value of LabelName.
const (
	Namespace = "airgap-system"
	Name      = "data-plane"
	LabelName = "app.kubernetes.io/name"
)

// Port is where the pods answer; it needs no privilege.
const Port = 8080

// Condition is that of the pods' status: True when everything answered,
// False when something did not, with a message that Parse reads.
const Condition = "airgap.dev/DataPlane"

const (
	answered   = "Answered"
	unanswered = "Unanswered"
)

// Failure is one thing that was tried in vain.
type Failure struct {
	Target string // "pod on worker2", "NodePort 30412 of worker2"; without ": "
	Saw    string // "no answer"
}

// maxTold is how many failures a condition names; a node that is cut off
// from a large cluster says enough with them.
const maxTold = 30

// message is a line for each failure, as `kubectl describe pod` shows it.
func message(failures []Failure) string {
	var b strings.Builder
	for i, f := range failures {
		if i == maxTold {
			fmt.Fprintf(&b, "%d more", len(failures)-maxTold)
			break
		}
		fmt.Fprintf(&b, "%s: %s\n", f.Target, f.Saw)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Parse reads the message of a Condition that is False.
func Parse(message string) []Failure {
	var failures []Failure
	for line := range strings.Lines(message) {
		target, saw, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if target != "" {
			failures = append(failures, Failure{Target: target, Saw: saw})
		}
	}
	return failures
}
