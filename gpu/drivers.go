package gpu

// Generation is architectures that the same drivers know.
type Generation struct {
	Architectures []Architecture `json:"architectures"`
	Modules       string         `json:"modules"`        // flavours of the kernel module that drive them
	Last          int            `json:"last,omitempty"` // the last branch that knows them; 0 while none has dropped them
	Source        string         `json:"source"`
}

// Generations lists them, oldest first.
func Generations() []Generation {
	return []Generation{
		{[]Architecture{Maxwell, Pascal, Volta}, "proprietary", 580, "NVIDIA: Unix graphics feature deprecation schedule; open-gpu-kernel-modules#19"},
		{[]Architecture{Turing, Ampere, Ada, Hopper}, "open, default from 560 on; proprietary before 620", 0, "NVIDIA: Unix graphics feature deprecation schedule"},
		{[]Architecture{Blackwell}, "open", 0, "NVIDIA: transitions fully towards open-source GPU kernel modules"},
	}
}

// Branch is a line of NVIDIA's driver for data centers.
type Branch struct {
	Number int    `json:"branch"`
	Kind   string `json:"kind"`
	Ends   string `json:"ends"` // the last month with fixes: "2028-06"
	CUDA   int    `json:"cuda"` // newest major version that it runs by itself
	Source string `json:"source"`
}

// Branches lists them, oldest first.
func Branches() []Branch {
	const source = "NVIDIA: data center drivers, supported drivers and CUDA toolkit versions"
	return []Branch{
		{535, "long-term support", "2026-06", 12, source},
		{580, "long-term support", "2028-06", 13, source},
		{595, "production", "2027-03", 13, source},
		{610, "new feature", "2026-08", 13, source},
	}
}
