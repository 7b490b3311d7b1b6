package service

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/report"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/verify/nodereport"
)

// ReportOnce looks at this host one time.
func ReportOnce(ctx context.Context) (nodereport.Report, error) {
	_, c, err := reporting()
	if err != nil {
		return nodereport.Report{}, err
	}
	once := c.Once(ctx)
	once.Heartbeat = metav1.NowMicro()
	return once, nil
}

// Report keeps what only this host knows in the cluster, as its NodeReport, until ctx ends.
func Report(ctx context.Context, say Say) error {
	settings, c, err := reporting()
	if err != nil {
		return err
	}
	client, hangUp, err := settings.Client()
	if err != nil {
		return err
	}
	w := nodereport.Writer{
		Node: settings.Node, Client: client, HangUp: hangUp,
		Collect: func(context.Context) nodereport.Report { notify("WATCHDOG=1", say); return c.Report() }, // the Writer has its turns
		Say:     say,
	}
	go c.Run(ctx) // ends with the process: a look that hangs must not hold that up
	w.Run(ctx)
	return nil
}

// reporting is what install or join wrote down for the unit, and who looks at it.
func reporting() (report.Settings, *nodereport.Collector, error) {
	if err := hostcheck.MustBeRoot("node-report"); err != nil {
		return report.Settings{}, nil, err
	}
	settings, err := host.ReadJSON[report.Settings](site.ReportFile)
	if err != nil {
		return settings, nil, err
	}
	if settings.Node == "" {
		return settings, nil, advice.Add(fmt.Errorf("read %s: it names no node", site.ReportFile), "airgap install and airgap join write it; run them again")
	}
	c, err := settings.Collector(site.ThisMachine())
	return settings, c, err
}
