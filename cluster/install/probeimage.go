package install

// ProbeRepository is the name of the image of airgap-probe. Bundles made before it was a
// program of its own have airgap.dev/airgap, whose program takes other arguments.
const ProbeRepository = "airgap.dev/airgap-probe"
