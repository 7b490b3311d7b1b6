package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/report"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/version"
	"airgap.dev/airgap/kubeadm"
)

// Where the approver's credential lies while its unit runs.
const (
	approverDir  = "/run/airgap-join-approver"
	approverConf = "kubeconfig"
)

// joinApprover is what airgap-join-approver.service runs.
func (a *app) joinApprover() *cobra.Command {
	var credential bool
	cmd := &cobra.Command{
		Use: "join-approver", Short: "Decide which node a join token admits", Hidden: true, Args: noArgs,
		Long: `Decides about the certificates that joining hosts request: a join token gets one,
once, of the node that it was made for. airgap-join-approver.service runs it on every
control-plane host; journalctl -u airgap-join-approver shows what was approved, and
what was refused, with the reason.

With --credential it makes, as root, the certificate that it then runs with.`,
		Example: "  journalctl -u airgap-join-approver",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if credential {
				return writeApproverCredential(approverDir)
			}
			return a.runApprover(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&credential, "credential", false, "only make the certificate, for a day")
	return cmd
}

// writeApproverCredential makes the certificate for the user that the directory belongs
// to.
func writeApproverCredential(dir string) error {
	if err := hostcheck.MustBeRoot("join-approver --credential"); err != nil {
		return err
	}
	text, err := site.ThisMachine().ApproverCredential()
	if err != nil {
		return err
	}
	return giveCredential(dir, text)
}

func giveCredential(dir string, text []byte) error {
	into, err := host.OpenOwned(dir)
	if err != nil {
		return advice.Add(fmt.Errorf("write the approver's certificate: %w", err), "systemctl restart %s makes the directory", kubeadm.ApproverUnit)
	}
	defer into.Close()
	return into.Write(approverConf, 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// runApprover ends before its certificate expires: the unit starts it again, with
// another one.
func (a *app) runApprover(ctx context.Context) error {
	config, err := kubeadm.Kubeconfig(approverDir + "/" + approverConf)
	if err != nil {
		return advice.Add(err, "airgap-join-approver.service makes it when it starts")
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, kubeadm.ApproverTTL/2)
	defer cancel()
	say := func(format string, args ...any) {
		fmt.Fprintf(a.stderr, format+"\n", args...)
	}
	a.notify(ctx, "STATUS="+report.ApproverStatus+version.String())
	return kubeadm.Approver{Client: client, Say: say}.Run(ctx)
}
