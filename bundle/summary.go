package bundle

// Summary is what a bundle holds, in numbers.
type Summary struct {
	Size                    int64 // of all parts, bytes
	Images, Packages, Files Amount
}

// Amount counts things, and the bytes they take in the bundle: what several
// images share counts once.
type Amount struct {
	Count int
	Bytes int64
}

// Summary adds up what the index lists.
func (x *Index) Summary() Summary {
	s := Summary{
		Images:   Amount{Count: len(x.Lock.Images)},
		Packages: Amount{Count: len(x.Lock.Packages)},
		Files:    Amount{Count: len(x.Lock.Files)},
	}
	for _, p := range x.Parts {
		s.Size += p.Size
	}
	for _, f := range x.Files {
		switch kindOf(f.Path) {
		case "images":
			s.Images.Bytes += f.Size
		case "packages":
			s.Packages.Bytes += f.Size
		case "files":
			s.Files.Bytes += f.Size
		}
	}
	return s
}
