package preflight

import "airgap.dev/airgap/preflight/facts"

var endpointFree = Check{
	ID: "endpoint-free", Title: "Control-plane endpoint is not in use yet",
	Breaks: "Two clusters would share one endpoint, and each would receive some of the requests.",
	Source: "airgap: a second cluster behind the first one's load balancer would receive some of its requests",
	Run:    judgeEndpoint,
}

func judgeEndpoint(f *facts.Facts, w *Want) Result {
	switch {
	case w.NewEndpoint == "":
		return skipped("this host starts no new cluster")
	case f.Asked.EndpointInUse:
		return Result{Fail, "an API server answers at " + w.NewEndpoint, "no API server before the first host is installed",
			"if this host belongs to that cluster: run airgap join --new-token --node NAME on one of its control-plane hosts, then airgap join here; if it is another cluster: correct kubernetes.controlPlaneEndpoint, or remove the old hosts from the load balancer"}
	default:
		return pass("no API server answers at %s", w.NewEndpoint)
	}
}
