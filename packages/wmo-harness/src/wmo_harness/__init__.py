"""What a harness is: source tree, surfaces, skills, tool policy, hashes."""
