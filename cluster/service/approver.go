package service

import (
	"context"
	"fmt"
	"io"

	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/report"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/version"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/kube"
)

// Path of the approver's credential while its unit runs.
const (
	ApproverDir  = "/run/airgap-join-approver"
	approverConf = "kubeconfig"
)

// WriteCredential creates the certificate for Approve, for the owner of ApproverDir.
func WriteCredential() error {
	if err := hostcheck.MustBeRoot("join-approver --credential"); err != nil {
		return err
	}
	text, err := jointoken.ApproverCredential(site.ThisMachine().Machine)
	if err != nil {
		return err
	}
	return giveCredential(ApproverDir, text)
}

func giveCredential(dir string, text []byte) error {
	into, err := host.OpenOwned(dir)
	if err != nil {
		return advice.Add(fmt.Errorf("write the approver's certificate: %w", err), "create the directory: systemctl restart %s", jointoken.ApproverUnit)
	}
	defer into.Close()
	return into.Write(approverConf, 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// Approve decides which node a join token admits. It stops before its certificate expires: the unit starts
// it again with a new one.
func Approve(ctx context.Context, say Say) error {
	config, err := kube.Kubeconfig(ApproverDir + "/" + approverConf)
	if err != nil {
		return advice.Add(err, "create it: systemctl restart airgap-join-approver.service")
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, jointoken.ApproverTTL/2)
	defer cancel()
	notify("STATUS="+report.ApproverStatus+version.String(), say)
	return jointoken.Approver{Client: client, Say: say}.Run(ctx)
}
