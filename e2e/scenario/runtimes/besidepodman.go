package runtimes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/upstream"
)

// withPodman installs podman and its runtime as a bank did long ago, with a container that
// runs and a network of its own; and, for CRI-O, the lab's runc.
func withPodman(ctx context.Context, e *scenario.Env, m lab.Machine, n neighbour) error {
	if err := m.AttachStick(ctx, upstream.PodmanPackages(e.Cache)); err != nil {
		return err
	}
	err := errors.Join(
		e.Script(ctx, m,
			"cd "+lab.StickPath+" && rpm --install --nosignature podman-*.rpm "+n.runs+"-*.rpm",
			"mkdir -p /etc/containers/networks && echo '{\"name\": \"bank\", \"driver\": \"bridge\", \"network_interface\": \"podman1\"}' >/etc/containers/networks/bank.json",
			"ip link add podman1 type bridge && ip address add 10.89.0.1/24 dev podman1 && ip link set podman1 up",
			"podman run web"),
		m.PullStick(ctx))
	if err != nil || n.rpm != "cri-o" {
		return err
	}
	return lab.PutFile(ctx, m, labRunc, 0o755, strings.NewReader(strings.Replace(labRuncText, "/opt/airgap/bin/runc", n.runc, 1)))
}

// podmanSays is what podman says of itself and of its container, which has the same process
// to the end, and what its packages, their files and its settings are. CRI-O's package puts
// a file of its own among the latter.
func podmanSays(ctx context.Context, e *scenario.Env, m lab.Machine) (string, error) {
	r, err := e.Must(ctx, m, []string{"podman version", `"status":"running"`}, "sh", "-c",
		"theirs=\"podman $(rpm -q --whatprovides oci-runtime)\"; podman --version; podman ps; rpm -q $theirs; rpm -V $theirs; rpm -ql $theirs | xargs sha256sum; "+
			"find /etc/containers ! -name crio.conf -type f -exec sha256sum {} + | sort; ip -brief address show podman1")
	return r.Stdout, err
}

func samePodman(ctx context.Context, e *scenario.Env, m lab.Machine, before string) error {
	now, err := podmanSays(ctx, e, m)
	if err == nil && now != before {
		err = fmt.Errorf("podman was\n%s and is\n%s", before, now)
	}
	return err
}
