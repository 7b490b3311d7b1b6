package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/node"
)

// etcdGuardFile is a drop-in of the kubelet. etcd itself is a static pod that the kubelet starts.
const etcdGuardFile = "/etc/systemd/system/kubelet.service.d/60-airgap-etcd.conf"

// etcdMember is the directory that etcd creates at its first start and keeps: it shows that the file
// system with etcd's data is mounted.
const etcdMember = node.EtcdDir + "/member"

// etcdGuardText lets the kubelet start unless etcd is a static pod of this host without data. systemd
// tries again until the data is there: kubelet.service has Restart=always.
const etcdGuardText = `# Written by airgap: etcd must not start with an empty directory on a host that is a member.
[Service]
ExecStartPre=/bin/sh -c 'test ! -e ` + node.ManifestsDir + `/etcd.yaml || test -d ` + etcdMember + ` || { ` +
	`echo "airgap: ` + etcdMember + ` is missing, and this host is a member of etcd. Its file system is not mounted: ` +
	`run findmnt --verify, then mount it at ` + node.EtcdDir + `. The kubelet starts then. If the data is lost: airgap docs trouble" >&2; exit 1; }'
`

// EtcdGuard keeps the kubelet from starting etcd with an empty data directory, for example if the file
// system of the directory is missing after a boot. Such a member would start a new, empty cluster, or
// break the quorum. The step comes after kubeadm, which starts the kubelet before etcd has data.
func EtcdGuard(m Machine) step.Step {
	return step.Step{
		Name: "etcd-guard", Title: "Start the kubelet only with etcd's data",
		Done: func(context.Context) (bool, error) {
			return host.FileMatches(m.Path(etcdGuardFile), []byte(etcdGuardText), 0o644)
		},
		Plan: func(context.Context) ([]string, error) {
			return host.PlanFiles(map[string][]byte{m.Path(etcdGuardFile): []byte(etcdGuardText)}, 0o644)
		},
		Run: func(ctx context.Context) error {
			if err := host.WriteFile(m.Path(etcdGuardFile), []byte(etcdGuardText), 0o644); err != nil {
				return err
			}
			return m.Run(ctx, "systemctl", "daemon-reload")
		},
		Undo: m.removeEtcdGuard,
	}
}

// removeEtcdGuard removes the drop-in before kubeadm starts a control plane: from an earlier cluster
// of this host, for example before a rollback.
func (m Machine) removeEtcdGuard(ctx context.Context) error {
	if _, err := os.Lstat(m.Path(etcdGuardFile)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := host.Remove(m.Path(etcdGuardFile)); err != nil {
		return fmt.Errorf("remove %s: %w", etcdGuardFile, err)
	}
	return m.Run(ctx, "systemctl", "daemon-reload")
}
