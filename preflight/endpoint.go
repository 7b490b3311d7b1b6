package preflight

var endpointFree = Check{
	ID: "endpoint-free", Title: "No cluster answers at the API's address yet",
	Breaks: "Two clusters would stand behind one address: requests go now to one, now to the other.",
	Source: "airgap: a second cluster behind the first one's balancer would get part of its requests",
	Run:    judgeEndpoint,
}

func judgeEndpoint(f *Facts, w *Want) Result {
	switch {
	case w.Founds == "":
		return skipped("this host starts no new cluster")
	case f.Asked.Taken:
		return Result{Fail, "an API server answers at " + w.Founds, "nobody, before the first host is installed",
			"if this host belongs to that cluster: airgap join --new-code --node NAME on one of its control-plane hosts, then airgap join here; if it is another one, kubernetes.controlPlaneEndpoint is wrong, or the balancer still sends to the old hosts"}
	default:
		return pass("nobody answers at %s", w.Founds)
	}
}
