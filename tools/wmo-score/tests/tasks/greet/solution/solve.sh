#!/bin/bash
echo hello > "${WMO_APP:-/app}/greeting.txt"
