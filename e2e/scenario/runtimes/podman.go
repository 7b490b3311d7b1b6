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

// withPodman installs podman and its runtime as an existing server of a bank has them, with a
// running container and its own network. For CRI-O it also installs the lab's runc.
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

// podmanState returns the version of podman, its container with its process, and the packages,
// files and settings. It skips a file that CRI-O's package adds to the settings.
func podmanState(ctx context.Context, e *scenario.Env, m lab.Machine) (string, error) {
	r, err := e.Must(ctx, m, []string{"podman version", `"status":"running"`}, "sh", "-c",
		"theirs=\"podman $(rpm -q --whatprovides oci-runtime)\"; podman --version; podman ps; rpm -q $theirs; rpm -V $theirs; rpm -ql $theirs | xargs sha256sum; "+
			"find /etc/containers ! -name crio.conf -type f -exec sha256sum {} + | sort; ip -brief address show podman1")
	return r.Stdout, err
}

func samePodman(ctx context.Context, e *scenario.Env, m lab.Machine, before string) error {
	now, err := podmanState(ctx, e, m)
	if err == nil && now != before {
		err = fmt.Errorf("got the podman state\n%s, want\n%s", now, before)
	}
	return err
}
