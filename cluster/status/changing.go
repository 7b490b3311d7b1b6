package status

import (
	"context"
	"fmt"
	"io"
	"time"

	"airgap.dev/airgap/cluster/clusterlock"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/kube"
)

// tellChanging adds the command that changes the cluster, on any of its hosts. An API server that does not answer is a
// part of the health.
func (st *Status) tellChanging(ctx context.Context, m kubeadm.Machine) {
	client, err := kube.Client(m.Machine, kube.AdminConf)
	if err != nil || st.Health == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	st.Changing, _ = clusterlock.Read(ctx, client)
}

func (st *Status) writeChanging(w io.Writer) {
	if h := st.Changing; h != nil {
		fmt.Fprintf(w, "changes   %s, since %s; last renewed %s by the clock of %s\n", h, h.Since.Local().Format(time.DateTime), h.Renewed.Local().Format(time.DateTime), h.Host)
	}
}
