package scenario

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab"
)

// gcEdits let the kubelet delete images when their disk is full, which is its default
// behaviour, and shorten the time until it detects free space.
func gcEdits() []string {
	return []string{
		"imageGCHighThresholdPercent: 100", "imageGCHighThresholdPercent: 80",
		"imageGCLowThresholdPercent: 99", "imageGCLowThresholdPercent: 70",
		"imagefs.available: 1Gi", `imagefs.available: "15%"`,
		"    kubeProxy:\n", "      evictionPressureTransitionPeriod: 10s\n    kubeProxy:\n",
	}
}

const (
	filler = "/var/lib/containerd/filler"
	listed = "/opt/airgap/bin/ctr --namespace k8s.io images ls --quiet | grep -v '^sha256:' | grep -v @ | sort"
)

// Gc tests a typical outage of an air-gapped cluster: a disk is full, the kubelet deletes
// the images that are not in use, and then pods need them.
func Gc(ctx context.Context, e *Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.WithServersOf(ctx, []lab.Kind{lab.KindContainer, lab.KindSmall}, func(l *lab.Lab) error {
		first, worker := l.Machines[0], l.Machines[1]
		var before []string
		return e.InOrder([]Part{
			{"survey", func() error { return e.Survey(ctx, l.Machines...) }},
			{"bundle", func() error { return e.MakeBundle(ctx, stick, gcEdits()...) }},
			{"the program, from the stick", func() error { return e.InstallProgram(ctx, first, stick) }},
			{"install", func() error { return e.InstallOnce(ctx, first) }},
			{"join", func() error { return e.Join(ctx, first, worker, stick) }},
			{"a workload comes and goes", func() (err error) {
				if err := errors.Join(e.Workload(ctx, first), workloadGone(ctx, e, first)); err != nil {
					return err
				}
				before, err = imagesOn(ctx, e, worker)
				return err
			}},
			{"the disk fills up", func() error { return fillUp(ctx, e, first, worker) }},
			{"images are deleted, but none of airgap's", func() error { return evicted(ctx, e, worker, before) }},
			{"the disk has free space", func() error { return freeSpace(ctx, e, first, worker) }},
			{"the deleted images are pulled again", func() error {
				if err := errors.Join(e.Workload(ctx, first), e.Verified(ctx, first)); err != nil {
					return err
				}
				return imagesAgain(ctx, e, worker, before)
			}},
		})
	})
}

// workloadGone deletes the objects of Workload.
func workloadGone(ctx context.Context, e *Env, m lab.Machine) error {
	return e.Script(ctx, m,
		Kubectl+"delete daemonset/hello service/hello pod/tools secret/bank --now --timeout=60s",
		Kubectl+"wait pod -l app=hello --for=delete --timeout=60s")
}

// imagesOn returns the names of the images on a host.
func imagesOn(ctx context.Context, e *Env, m lab.Machine) ([]string, error) {
	r, err := e.Must(ctx, m, []string{"/pause:"}, "sh", "-c", listed)
	return strings.Fields(r.Stdout), err
}

// fillUp leaves less space on the disk of the images than the kubelet requires, and waits
// for DiskPressure.
func fillUp(ctx context.Context, e *Env, first, worker lab.Machine) error {
	return errors.Join(
		e.Script(ctx, worker, `fallocate -l "$(($(df --output=avail -B1 /var/lib/containerd | tail -1) - 200000000))" `+filler),
		e.Script(ctx, first, Kubectl+"wait node "+worker.Name()+" --for=condition=DiskPressure=True --timeout=120s"),
	)
}

// evicted checks that the workload's images are deleted on the host, and that the pinned
// images, which a host needs to start, still exist.
func evicted(ctx context.Context, e *Env, m lab.Machine, before []string) error {
	deadline := time.Now().Add(3 * time.Minute)
	for {
		now, err := imagesOn(ctx, e, m)
		if err != nil {
			return err
		}
		gone := without(before, now)
		if len(gone) > 0 {
			fmt.Fprintf(e.Log, "gc: the kubelet has deleted %v\n", gone)
			if left := without(ofBootstrap(before), now); len(left) > 0 {
				return fmt.Errorf("the kubelet has deleted %v, which the host needs to start", left)
			}
			if len(without([]string{"docker.io/library/hello:1.0", "quay.io/lab/tools:1.0"}, gone)) == 0 {
				return nil
			}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the kubelet has deleted only %v", gone)
		}
		time.Sleep(2 * time.Second)
	}
}

// ofBootstrap returns the pinned ones of the images.
func ofBootstrap(images []string) []string {
	var pinned []string
	for _, i := range images {
		if strings.Contains(i, "/pause:") || strings.Contains(i, "/kube-proxy:") || strings.Contains(i, "flannel") {
			pinned = append(pinned, i)
		}
	}
	return pinned
}

func freeSpace(ctx context.Context, e *Env, first, worker lab.Machine) error {
	return errors.Join(
		e.Script(ctx, worker, "rm "+filler),
		e.Script(ctx, first,
			Kubectl+"wait node "+worker.Name()+" --for=condition=DiskPressure=False --timeout=120s",
			"for i in $(seq 60); do "+Kubectl+"get node "+worker.Name()+" -o jsonpath='{.spec.taints}' | grep -q disk-pressure || exit 0; sleep 1; done; exit 1"),
	)
}

// imagesAgain checks that every deleted image is on the host again.
func imagesAgain(ctx context.Context, e *Env, m lab.Machine, before []string) error {
	now, err := imagesOn(ctx, e, m)
	if err != nil {
		return err
	}
	for _, i := range []string{"docker.io/library/hello:1.0", "quay.io/lab/tools:1.0"} {
		if len(without([]string{i}, before)) > 0 || len(without([]string{i}, now)) > 0 {
			return fmt.Errorf("%s is missing: before %v, now %v", i, before, now)
		}
	}
	return nil
}
