package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/report"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/output"
	"airgap.dev/airgap/verify/nodereport"
)

// nodeReport is what airgap-node-report.service runs.
func (a *app) nodeReport() *cobra.Command {
	var once bool
	cmd := &cobra.Command{
		Use: "node-report", Short: "Tell the cluster what only this host knows", Hidden: true, Args: noArgs,
		Long: `Looks at what no other host can see: what runtime and kubelet effectively use,
pinned images, packages, links, kernel parameters, registries, clock, certificates,
free space, etcd, the API server, cards; and keeps it in the cluster as the NodeReport of this node, with the
kubelet's own identity, until it is ended. airgap-node-report.service runs it on
every host; kubectl get nodereports shows what they say.

With --once it looks one time and prints what it would write. Nothing is written,
and no cluster is needed.`,
		Example: "  airgap node-report --once --output json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := hostcheck.MustBeRoot("node-report"); err != nil {
				return err
			}
			return a.runNodeReport(cmd.Context(), once)
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "print the report once, and write nothing")
	return cmd
}

func (a *app) runNodeReport(ctx context.Context, once bool) error {
	settings, err := host.ReadJSON[report.Settings](site.ReportFile)
	if err != nil {
		return err
	}
	if settings.Node == "" {
		return advice.Add(fmt.Errorf("read %s: it names no node", site.ReportFile), "airgap install and airgap join write it; run them again")
	}
	c, err := settings.Collector(site.ThisMachine())
	if err != nil {
		return err
	}
	if once {
		report := c.Once(ctx)
		report.Heartbeat = metav1.NowMicro()
		return a.print(report, func(w io.Writer) error { return output.YAML(w, report) })
	}
	client, hangUp, err := settings.Client()
	if err != nil {
		return err
	}
	w := nodereport.Writer{
		Node: settings.Node, Client: client, HangUp: hangUp,
		Collect: func(ctx context.Context) nodereport.Report { a.notify(ctx, "WATCHDOG=1"); return c.Report() }, // the Writer has its turns
		Say:     func(format string, args ...any) { fmt.Fprintf(a.stderr, format+"\n", args...) },
	}
	go c.Run(ctx) // ends with the process: a look that hangs must not hold that up
	w.Run(ctx)
	return nil
}

// notify tells systemd about this service, where it runs as one (sd_notify(3)).
func (a *app) notify(ctx context.Context, state string) {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unixgram", socket)
	if err == nil {
		defer conn.Close()
		_, err = conn.Write([]byte(state))
	}
	if err != nil {
		fmt.Fprintf(a.stderr, "tell systemd %s: %v\n", state, err)
	}
}
