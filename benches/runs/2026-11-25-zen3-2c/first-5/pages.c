#define _GNU_SOURCE
#include <sys/mman.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static double now(){struct timespec t;clock_gettime(CLOCK_MONOTONIC,&t);return t.tv_sec*1e6+t.tv_nsec/1e3;}
int main(int c,char**v){int n=atoi(v[1]);int huge=atoi(v[2]);int show=atoi(v[3]);
 for(int i=4;i<c;i++){ usleep(1e6*atof(v[i]));
 size_t b=(size_t)n<<21; char*p=mmap(0,b,3,MAP_PRIVATE|MAP_ANONYMOUS,-1,0);
 if(huge) madvise(p,b,MADV_HUGEPAGE); else madvise(p,b,MADV_NOHUGEPAGE);
 double s=now(); int slow=0; if(show)printf("\n");
 for(int k=0;k<n;k++){double a=now(); madvise(p+((size_t)k<<21),1<<21,23); a=now()-a; if(a>1000)slow++; if(show)printf("%.0f ",a);}
 s=now()-s; double m=now(); munmap(p,b); m=now()-m; printf("after %s s: %.1f ms, %.2f GB/s, slow %d of %d, unmap %.1f ms\n",v[i],s/1e3,b/s/1e3,slow,n,m/1e3);}
}
