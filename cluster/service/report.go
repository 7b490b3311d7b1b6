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

// ReportOnce collects one report of this host.
func ReportOnce(ctx context.Context) (nodereport.Report, error) {
	_, c, err := collector()
	if err != nil {
		return nodereport.Report{}, err
	}
	once := c.Once(ctx)
	once.Heartbeat = metav1.NowMicro()
	return once, nil
}

// Report writes this host's NodeReport to the cluster until ctx ends.
func Report(ctx context.Context, say Say) error {
	settings, c, err := collector()
	if err != nil {
		return err
	}
	client, hangUp, err := settings.Client()
	if err != nil {
		return err
	}
	w := nodereport.Writer{
		Node: settings.Node, Client: client, CloseConnections: hangUp,
		Collect: func(context.Context) nodereport.Report { notify("WATCHDOG=1", say); return c.Report() }, // called in each cycle of the Writer
		Logf:    say,
	}
	go c.Run(ctx) // ends with the process, because a blocked observation must not delay its exit
	w.Run(ctx)
	return nil
}

// collector returns the settings that install or join wrote for the unit, and their collector.
func collector() (report.Settings, *nodereport.Collector, error) {
	if err := hostcheck.MustBeInstalled("node-report"); err != nil {
		return report.Settings{}, nil, err
	}
	settings, err := host.ReadJSON[report.Settings](site.ReportFile)
	if err != nil {
		return settings, nil, err
	}
	if settings.Node == "" {
		return settings, nil, advice.Add(fmt.Errorf("read %s: it contains no node name", site.ReportFile), "write the file again: run airgap install or airgap join")
	}
	c, err := settings.Collector(site.ThisMachine())
	return settings, c, err
}
